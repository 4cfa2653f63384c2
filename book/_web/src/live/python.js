// The page's hold on Python: starts the worker when there is something to run, and ends it when that takes too long.

export class Python {
  #worker = null;
  #task = null; // what runs or waits for Python: {tell, resolve, running, timer}

  // `setup` is the worker's; `limit` is how many seconds a task may run once Python is there.
  constructor(address, setup, limit) {
    Object.assign(this, { address, setup, limit });
  }

  // Whether a task would run without waiting for Python.
  there = false;

  // Whether this browser lets this page have a worker. Most refuse one to a page that is read from disk.
  possible() {
    try {
      new Worker(this.address, { type: "module" }).terminate();
      return true;
    } catch {
      return false;
    }
  }

  // Performs a task (see worker.mjs). `tell` hears of its messages. Resolves with {result}, {failed, reason} or
  // {stopped}.
  run(task, tell) {
    return new Promise((resolve) => {
      this.#task = { tell, resolve, running: false };
      try {
        this.#worker ??= this.#start();
        this.#worker.postMessage(task);
      } catch (error) {
        this.#fail("start", error.message); // some browsers refuse a worker to a page read from disk
      }
    });
  }

  // Ends what runs, at once. Python starts again in the background, to be there for the next task.
  stop(why) {
    if (!this.#task) return;
    const again = this.#task.running;
    this.#end({ stopped: why });
    if (again) this.#worker = this.#start();
  }

  #start() {
    const worker = new Worker(this.address, { type: "module" });
    // A worker that was ended may still have sent something: only the present one is heard.
    worker.onmessage = ({ data }) => worker === this.#worker && this.#hear(data);
    worker.onerror = (event) => worker === this.#worker && this.#fail("start", event.message ?? "");
    worker.postMessage(this.setup);
    return worker;
  }

  #hear(message) {
    if (!this.#task) return;
    if (message.type === "running") {
      this.there = this.#task.running = true;
      this.#task.timer = setTimeout(() => this.stop("limit"), this.limit * 1000);
    }
    if (message.type === "failed") this.#fail(message.step, message.reason);
    else if (message.type === "done") this.#settle({ result: message.result });
    else this.#task.tell(message);
  }

  #fail(step, reason) {
    this.#end({ failed: step, reason });
  }

  #end(outcome) {
    this.#worker?.terminate();
    this.#worker = null;
    this.there = false;
    this.#settle(outcome);
  }

  #settle(outcome) {
    const task = this.#task;
    this.#task = null;
    clearTimeout(task?.timer);
    task?.resolve(outcome);
  }
}
