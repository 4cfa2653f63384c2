// What a figure shows, in the page's address, so that a link leads to it: #tracer?model=L-14-336&step=scores

// The state in the address, or null when the address names another place.
export function readAddress(name) {
  const [place, query] = location.hash.slice(1).split("?");
  return place === name && query !== undefined ? Object.fromEntries(new URLSearchParams(query)) : null;
}

export function addressOf(name, state) {
  return `#${name}?${new URLSearchParams(state).toString().replaceAll("%2F", "/")}`;
}

// Shows the state an address names, now and when the reader follows such a link on the page.
export function followAddress(name, box, show) {
  const follow = () => {
    const state = readAddress(name);
    if (!state) return;
    show(state);
    box.scrollIntoView();
  };
  window.addEventListener("hashchange", follow);
  follow();
}
