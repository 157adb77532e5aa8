/** Lists and records as another caller sees them: reads of the admin API, by the rules of the caller. */
import { SocleError } from "@socle/client";
import type { RecordPage, StoredRecord } from "@socle/protocol";
import { client } from "../../../service/client.ts";

/** In an address: a caller without a token. */
export const ANONYMOUS = "anonymous";
/** The most records of a page. */
export const lookedSize = 100;

type Look = Parameters<typeof client.admin.collections.viewAs>[1];

async function look<Answer>(
  collection: string,
  as: string,
  { signal, ...asked }: Omit<Look, "as"> & { signal: AbortSignal },
): Promise<Answer> {
  const caller = { as: as === ANONYMOUS ? null : as };
  const { answer, error, status } = await client.admin.collections.viewAs<Answer>(
    collection,
    { ...caller, ...asked },
    { signal },
  );
  // The refusal is told to the caller, and not to the admin, whose session goes on.
  if (error !== null) throw new SocleError({ status, headers: new Headers() }, error);
  if (answer === null) throw new TypeError("A read that is not refused has an answer");
  return answer;
}

/** @throws SocleError as the caller would get. */
export function lookAtList(
  collection: string,
  as: string,
  asked: { query: NonNullable<Look["query"]>; signal: AbortSignal },
): Promise<RecordPage<StoredRecord>> {
  return look(collection, as, asked);
}

/** @throws SocleError as the caller would get. */
export function lookAtRecord(
  collection: string,
  as: string,
  asked: { id: string; signal: AbortSignal },
): Promise<StoredRecord> {
  return look(collection, as, asked);
}
