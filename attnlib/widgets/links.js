/* Links of the prose that drive a widget: "#<id>/<what it is to show>". */

/** What an address says to the widget of this id; null where it means another place. */
export function wordsFor(id, hash) {
  let text = '';
  try {
    text = decodeURIComponent(hash.slice(1));
  } catch {
    return null;
  }
  return text.startsWith(`${id}/`) ? text.slice(id.length + 1) : null;
}

/** Call `follow` whenever a link is followed, also one that the address names already. */
export function onLink(follow, signal) {
  window.addEventListener('hashchange', follow, { signal });
  const again = (event) => {
    const hash = event.target.closest?.('a[href]')?.getAttribute('href');
    if (hash?.startsWith('#') && hash === location.hash) follow();
  };
  document.addEventListener('click', again, { signal });
}
