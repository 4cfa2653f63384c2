// The reader's answers, kept in this browser: a record {stub, code, tried, solved, earlier} for each exercise.
// `stub` tells which version of the exercise it answers; `earlier` is code of before, offered and never put in by itself.

// Two books on one host keep their answers apart.
const book = new URL(document.documentElement.dataset.content_root || "./", location.href).pathname;
const key = (name) => `course ${book} ${name}`;

// The record of an exercise whose stub is now `stub`. An answer to another stub comes back as `earlier`.
export function load(name, stub) {
  let record;
  try {
    record = JSON.parse(localStorage.getItem(key(name)));
  } catch {
    // Nothing that can be read: begin anew.
  }
  if (!record) return { stub };
  return record.stub === stub ? record : { stub, earlier: record.code ?? record.earlier };
}

// Returns whether this browser keeps it.
export function save(name, record) {
  try {
    localStorage.setItem(key(name), JSON.stringify(record));
    return true;
  } catch {
    return false;
  }
}

export function remove(name) {
  try {
    localStorage.removeItem(key(name));
  } catch {
    // Nothing is kept, so nothing has to go.
  }
}
