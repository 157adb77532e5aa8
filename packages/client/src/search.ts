/** Parameters of requests, as text of an address. */

/** The query with the `?`; empty without parameters. A parameter that is null or undefined is left out. */
export function searchOf(parameters: object): string {
  // The `URLSearchParams` of React Native cannot set parameters.
  const text = given(parameters as { readonly [name: string]: string | number | boolean })
    .map((parameter) => parameter.map(encodeURIComponent).join("="))
    .join("&");
  return text && `?${text}`;
}

/** The entries with a value: null and undefined are left out. */
export function given<T>(values: { readonly [name: string]: T | null | undefined }): [name: string, value: T][] {
  return Object.entries(values).filter((entry): entry is [string, T] => entry[1] != null);
}
