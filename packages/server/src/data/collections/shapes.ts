/** Messages for JSON objects that do not match their schema: unknown attributes, and the errors of zod. */
import type * as z from "zod/mini";
import { nearest, quote } from "../../base/kernel/index.ts";

/** The problems of an object's attributes that its shape does not have. */
export function unknownAttributes(object: object, shape: object, where: string): string[] {
  const known = Object.keys(shape).filter((name) => name !== "$schema");
  return Object.keys(object)
    .filter((name) => !Object.hasOwn(shape, name))
    .map((name) => {
      const near = nearest(name, known);
      const hint = near === null ? `; allowed: ${known.join(", ")}` : `; did you mean "${near}"?`;
      return `${where}: unknown attribute ${quote(name)}${hint}`;
    });
}

/** The problems that zod finds in an object, each with the attribute and its value. */
export function shapeProblems(error: z.core.$ZodError, value: object, where: string): string[] {
  return error.issues.map((issue) => {
    const [attribute = ""] = issue.path.map(String);
    const given = Object.hasOwn(value, attribute) ? Reflect.get(value, attribute) : undefined;
    if (given === undefined) return `${where}: "${attribute}" is missing; it ${issue.message}`;
    return `${where}: "${attribute}" ${issue.message}, not ${quote(given)}`;
  });
}
