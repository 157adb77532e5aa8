/** The attribute `anyTarget`: whoever writes the relation need not be able to read the record that the relation points to. */
import type { Attribute } from "../field-type.ts";

export const anyTarget: Attribute = {
  name: "anyTarget",
  isFor: "a relation to a collection",
  means: ({ type, collection }) => type === "relation" && collection !== "users",
  // A stranger's record would keep the target from deletion, or go with the target.
  excludes: ({ anyTarget: isOn }) => (isOn === true ? ["onDelete"] : []),
  problems: () => [],
};
