/** Parameters of requests, as text of an address. */

/** The query with the `?`; empty without parameters. A parameter that is null or undefined is left out. */
export function searchOf(parameters: object): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== null && value !== undefined) search.set(name, String(value));
  return search.size === 0 ? "" : `?${search}`;
}
