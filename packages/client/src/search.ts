/** Parameters of requests, as text of an address. */

/** The query with the `?`; empty without parameters. A parameter that is null or undefined is left out. */
export function searchOf(parameters: object): string {
  const given = Object.entries(parameters).filter(([, value]) => value != null);
  // The `URLSearchParams` of React Native cannot set parameters.
  const texts = given.map((parameter) => parameter.map(encodeURIComponent).join("="));
  return given.length === 0 ? "" : `?${texts.join("&")}`;
}
