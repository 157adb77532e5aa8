/** Errors of a save, split by their position: at a control, or above the form. */
import { SocleError } from "@socle/client";
import type { FieldDefinition } from "@socle/protocol";
import { messageOf } from "../../../kit/states.tsx";
import { text } from "../../../texts/index.ts";

export interface SaveErrors {
  readonly fields: { readonly [field: string]: string };
  /** Messages without a field. */
  readonly general: readonly string[];
  /** The id of the request in the log, after a failure of the service. */
  readonly requestId: string | null;
}

export const noErrors: SaveErrors = { fields: {}, general: [], requestId: null };

export function saveErrors(thrown: unknown, fields: readonly FieldDefinition[]): SaveErrors {
  if (!(thrown instanceof SocleError)) return { ...noErrors, general: [messageOf(thrown)] };
  if (thrown.status === 401) return { ...noErrors, general: [text.editor.sessionEnded] };
  const names = new Set(fields.map(({ name }) => name));
  const atFields: { [field: string]: string } = {};
  const general: string[] = [];
  for (const { field, message } of thrown.details) {
    if (!names.has(field)) general.push(message.startsWith(field) ? message : `${field}: ${message}`);
    else atFields[field] = atFields[field] === undefined ? message : `${atFields[field]}; ${message}`;
  }
  if (thrown.details.length === 0) general.push(messageOf(thrown));
  return { fields: atFields, general, requestId: thrown.status >= 500 ? thrown.requestId : null };
}
