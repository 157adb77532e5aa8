/** The edit of many records: the ids of the records that match, and the change in batches, with the refusals and an undo of all. */
import {
  type CollectionEntry,
  type FieldDefinition,
  isUnique,
  type JsonValue,
  type RecordQuery,
} from "@socle/protocol";
import { changeRecords, type Failure } from "../../../service/change-records.ts";
import { client } from "../../../service/client.ts";
import { keepChange, type OwnChange, RequestIds } from "../../../service/undo.ts";
import { text } from "../../../texts/index.ts";
import { writable } from "../editor/edits.ts";
import { queriedPages } from "../export/pages.ts";

/** The most records of an edit: their ids are in the memory of the page. */
const mostEdited = 100_000;

/** The fields that many records can have the same value in. */
export function sharedFields(collection: CollectionEntry): readonly FieldDefinition[] {
  return writable(collection).fields.filter((field) => !isUnique(field) && field.sequence === undefined);
}

/** All ids before the first change: a changed record may not match any more. @throws SocleError, or Error beyond `mostEdited`. */
export async function matchingIds(collection: string, query: RecordQuery, signal: AbortSignal): Promise<string[]> {
  const ids: string[] = [];
  const fetch = (page: RecordQuery) => client.collection(collection).page<{ id: string }>(page, { signal });
  const source = { fetch, isSignedIn: () => client.accessToken !== null, signal };
  for await (const page of queriedPages(source, { ...query, fields: "id" })) {
    ids.push(...page.map(({ id }) => String(id)));
    if (ids.length > mostEdited) throw new Error(text.records.editMany.tooMany(mostEdited));
  }
  return ids;
}

export interface EditOutcome {
  /** The records that have the value now; records that are gone count, too. */
  readonly changed: number;
  readonly failed: readonly Failure[];
  /** Null when nothing was changed. */
  readonly change: OwnChange | null;
}

interface Edit {
  collection: string;
  ids: readonly string[];
  bodyOf: (id: string) => { readonly [field: string]: JsonValue };
  /** The change in words. */
  words: (changed: number) => string;
  onProgress: (done: number) => void;
}

export async function editMany({ collection, ids, bodyOf, words, onProgress }: Edit): Promise<EditOutcome> {
  const requests = new RequestIds();
  const records = client.collection(collection);
  const failed = await changeRecords(ids, {
    batch: (part) =>
      client.batch(
        part.map((id) => ({ method: "update", collection, id, body: bodyOf(id) }) as const),
        requests.options,
      ),
    one: (id) => records.update(id, bodyOf(id), requests.options),
    onStart: () => undefined,
    onProgress,
  });
  const changed = ids.length - failed.length;
  const { isEmpty, takeBack } = requests;
  return { changed, failed, change: isEmpty ? null : keepChange({ words: words(changed), takeBack }) };
}
