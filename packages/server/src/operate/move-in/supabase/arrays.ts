/** Arrays as PostgreSQL writes arrays: `{a,"b c",NULL,{d}}`. */

export type Item = string | null | Item[];

/** @throws SyntaxError for another form. */
export function itemsOf(text: string): Item[] {
  const tokens = text.replace(/^(?:\[-?\d+:-?\d+\])+=/, "").matchAll(/[{},]|"((?:[^"\\]|\\.)*)"|[^{},"]+/gs);
  const open: Item[][] = [[]];
  for (const [token, quoted] of tokens)
    if (token === "{") open.push([]);
    else if (token === "}") {
      const items = open.pop() ?? [];
      open.at(-1)?.push(items);
    } else if (token !== ",")
      open.at(-1)?.push(quoted !== undefined ? quoted.replace(/\\(.)/gs, "$1") : token === "NULL" ? null : token);
  const [whole] = open[0] ?? [];
  if (open.length !== 1 || !Array.isArray(whole)) throw new SyntaxError(`${text.slice(0, 40)} is no array`);
  return whole;
}
