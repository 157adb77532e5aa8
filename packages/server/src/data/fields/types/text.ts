/** The field type text: a string of many lines. The dashboard gives a larger control to the type. */
import type { FieldType } from "../field-type.ts";
import { string } from "./string.ts";

export const text: FieldType = { ...string, name: "text" };
