/** Helpers for the page. Text goes in as text: nobody's title is markup. */

export const $ = (id) => document.getElementById(id);

/** Makes an element: `el("button", { onclick }, "Save")`. `aria` and `data` are objects, `key` keeps the focus: see `fill`. */
export function el(tag, { aria = {}, key, ...properties } = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  for (const [name, value] of Object.entries(aria)) element.setAttribute(`aria-${name}`, value);
  if (key !== undefined) element.dataset.key = key;
  element.append(...children);
  return element;
}

/** Puts other children into an element. Where the one with the focus has a key, its successor gets the focus. */
export function fill(element, ...children) {
  const focused = element.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  element.replaceChildren(...children);
  if (focused !== undefined) element.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

/** Sets the value of a field, unless somebody is changing it. */
export function set(field, value) {
  if (field === document.activeElement && field.value !== field.defaultValue && field.value !== value) return;
  field.defaultValue = value;
  field.value = value;
}

/** Fills a select with `[value, text]`, and chooses one. */
export function choices(select, options, value) {
  if (select === document.activeElement && select.value === value) return;
  select.replaceChildren(...options.map(([each, text]) => new Option(text, each, false, each === value)));
  select.value = value;
}
