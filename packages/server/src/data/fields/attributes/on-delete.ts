/** The attribute `onDelete`: the effect on a record when its target, a record or a user, is deleted. */
import { ON_DELETE } from "@socle/protocol";
import { oneOf, quote } from "../../../base/kernel/index.ts";
import type { Attribute } from "../field-type.ts";

export const onDelete: Attribute = {
  name: "onDelete",
  isFor: "relation",
  means: ({ type }) => type === "relation",
  problems({ onDelete: action, required, multiple, min = 0 }) {
    if (!ON_DELETE.some((each) => each === action)) return [`must be ${oneOf(ON_DELETE)}, not ${quote(action)}`];
    if (action === "clear" && required === true) return ['is "clear", which a required field cannot be'];
    if (action === "clear" && multiple === true && min > 1)
      return [`is "clear", which could leave fewer than ${min} items`];
    return [];
  },
};
