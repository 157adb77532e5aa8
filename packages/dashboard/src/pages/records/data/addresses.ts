/** Links of fields of text that hold addresses of mail or of the web. */
import { type FieldDefinition, isFormatted } from "@socle/protocol";

/** The attributes of the link of an address; null for any other text. */
export function addressLink({ format }: FieldDefinition, value: string) {
  if ((format !== "email" && format !== "url") || !isFormatted(value, format)) return null;
  const href = format === "email" ? `mailto:${value}` : value;
  return { href, target: "_blank", rel: "noreferrer" };
}
