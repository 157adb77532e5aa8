/** The layers over a page: modal dialogs, and drawers, which may stand beside a page that stays in use. */

/** The modal dialog on top of the page, if any. */
export function modalOnTop(): Element | undefined {
  return [...document.querySelectorAll('[role="dialog"][aria-modal="true"]')].at(-1);
}

/** The layer that has the keys typed at an element: the modal dialog on top, or the drawer around the element. Null for the page. */
export function layerOf(target: EventTarget | null): Element | null {
  return modalOnTop() ?? (target instanceof Element ? target.closest("[data-drawer]") : null);
}
