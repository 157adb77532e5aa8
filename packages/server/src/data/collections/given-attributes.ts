/** The attributes of a definition as sent: the known attributes, and the unknown ones, which are ignored or misspelt. */
import { isObject, nearest, quote } from "../../base/kernel/index.ts";

/** The faults of a definition: problems refuse the definition, warnings tell of parts that have no effect. */
export interface Report {
  readonly problems: string[];
  readonly warnings: string[];
}

/**
 * The known attributes of an object. An attribute with null is absent. An unknown attribute is ignored with a warning; an
 * unknown attribute with nearly a known name is a problem, because the author expects an effect.
 */
export function knownAttributes(
  object: object,
  { known, where }: { known: readonly string[]; where: string },
  { problems, warnings }: Report,
): Record<string, unknown> {
  const names = known.filter((name) => name !== "$schema");
  return withoutNulls(object, (name) => {
    if (known.includes(name)) return true;
    const near = misspelt(name, names);
    if (near !== null) problems.push(`${where}: unknown attribute ${quote(name)}; did you mean "${near}"?`);
    else warnings.push(`${where}: unknown attribute ${quote(name)} is ignored; known are ${names.join(", ")}`);
    return false;
  });
}

/** The attributes with a value. Any other value than an object is answered as it is. */
export function withoutNulls(object: object, isKept?: (name: string) => boolean): Record<string, unknown>;
export function withoutNulls(value: unknown): unknown;
export function withoutNulls(value: unknown, isKept: (name: string) => boolean = () => true): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name, each]) => isKept(name) && each !== null));
}

/** The known name with the same letters in another order, or with few other letters. */
function misspelt(name: string, known: readonly string[]): string | null {
  const letters = (word: string): string => [...word.toLowerCase()].sort().join("");
  return known.find((each) => letters(each) === letters(name)) ?? nearest(name, known, 1);
}
