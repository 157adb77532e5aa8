/** Lists and records as another caller sees them: reads of the admin API, by the rules of the caller. */
import { SocleError } from "@socle/client";
import type { RecordPage, RuleTrial, StoredRecord } from "@socle/protocol";
import { client } from "../../../service/client.ts";

/** In an address: a caller without a token. */
export const ANONYMOUS = "anonymous";
/** The most records of a page. */
export const lookedSize = 100;

type Look = Parameters<typeof client.admin.collections.viewAs>[1];

async function look(
  collection: string,
  as: string,
  { signal, ...asked }: Omit<Look, "as"> & { signal: AbortSignal },
): Promise<RuleTrial["answer"]> {
  const caller = as === ANONYMOUS ? null : as;
  const { answer, error, status } = await client.admin.collections.viewAs(
    collection,
    { as: caller, ...asked },
    { signal },
  );
  // The refusal is told to the caller, and not to the admin, whose session goes on.
  if (error !== null) throw new SocleError({ status, headers: new Headers() }, error);
  return answer;
}

/** @throws SocleError as the caller would get. */
export async function lookAtList(
  collection: string,
  as: string,
  asked: { query: NonNullable<Look["query"]>; signal: AbortSignal },
) {
  // The answer of a list.
  return (await look(collection, as, asked)) as unknown as RecordPage<StoredRecord>;
}

/** @throws SocleError as the caller would get. */
export async function lookAtRecord(
  collection: string,
  as: string,
  asked: { id: string; signal: AbortSignal },
): Promise<StoredRecord> {
  // The answer of a read of a record.
  return (await look(collection, as, asked)) as unknown as StoredRecord;
}
