/**
 * The finds of the palette: records by words or by their name, users by email, and records, users, files, requests, runs, events and mails by id.
 * The search begins after a pause of the typing, and a further key ends the search.
 */
import { useDebouncedValue } from "@mantine/hooks";
import { SocleError } from "@socle/client";
import {
  type CollectionEntry,
  isView,
  MAX_SEARCHED_COLLECTIONS,
  type Page,
  type StoredRecord,
  type Trace,
  USERS,
  type User,
} from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { linkOptions } from "@tanstack/react-router";
import { nameOfUser } from "../kit/index.ts";
import { searchOf } from "../pages/records/data/full-text-search.ts";
import { isId, nameField, recordName, searchFilter } from "../pages/records/editor/naming.ts";
import { spanLink } from "../pages/trace/span-link.ts";
import { listOf } from "../pages/trace/waterfall.ts";
import { client } from "../service/client.ts";
import { text } from "../texts/index.ts";

const words = text.palette;

export interface Find {
  readonly kind: "byId" | "records" | "users";
  readonly id: string;
  readonly label: string;
  /** The kind of the find, or its collection. */
  readonly about: string;
  readonly link:
    | ReturnType<typeof recordLink>
    | ReturnType<typeof filterLink>
    | ReturnType<typeof userLink>
    | NonNullable<ReturnType<typeof spanLink>>
    | ReturnType<typeof traceLink>
    | ReturnType<typeof fileLink>;
}

const pauseMs = 200;
/** Found records and users, of each kind. */
const most = 6;
/** The searches of records, each over several collections. */
const mostSearches = 3;
/** Collections without a search of words that are read by the names of their records, and the most records of such a collection. */
const [mostRead, mostInRead] = [5, 20_000];
/** Collections that are not read, and shown with the reason. */
const mostLeft = 3;

const recordLink = (name: string, record: string) =>
  linkOptions({ to: "/collections/$name", params: { name }, search: { record } });
const filterLink = (name: string, filter: string) =>
  linkOptions({ to: "/collections/$name", params: { name }, search: { filter } });
const userLink = (user: string) => linkOptions({ to: "/users", search: { user } });
const traceLink = (id: string) => linkOptions({ to: "/trace/$id", params: { id } });
const fileLink = (file: string) => linkOptions({ to: "/storage", search: { file } });

/** Asks the service. A signal that aborts ends the request. */
type Ask = <T>(method: string, path: string) => Promise<T>;

async function foundRecords(
  typed: string,
  collections: readonly CollectionEntry[],
  signal: AbortSignal,
): Promise<Find[]> {
  const search = searchOf(typed);
  const searched = collections.filter(
    ({ name, definition }) => name !== USERS && !isView(definition) && definition.search !== undefined,
  );
  if (search === undefined || searched.length === 0) return [];
  // The largest collections first: beyond the bound, the smallest are left out.
  const names = searched.toSorted((a, b) => b.records - a.records).map(({ name }) => name);
  const parts = Array.from(
    { length: Math.min(mostSearches, Math.ceil(names.length / MAX_SEARCHED_COLLECTIONS)) },
    (_, i) => names.slice(i * MAX_SEARCHED_COLLECTIONS, (i + 1) * MAX_SEARCHED_COLLECTIONS),
  );
  const answers = await Promise.all(parts.map((part) => client.query({ search, in: part, limit: most }, { signal })));
  return answers
    .flat()
    .slice(0, most)
    .map(({ collection, record }) =>
      recordFind(
        collections.find(({ name }) => name === collection),
        collection,
        record,
      ),
    );
}

function recordFind(entry: CollectionEntry | undefined, collection: string, record: StoredRecord): Find {
  const label = recordName(record, entry?.fields ?? []);
  return { kind: "records", id: record.id, label, about: collection, link: recordLink(collection, record.id) };
}

/**
 * Records of collections without a search of words, by the field that names a record. The service reads all records of the collection. A large
 * collection is not read: its find gives the reason and leads to the filter.
 */
async function foundByName(
  typed: string,
  collections: readonly CollectionEntry[],
  signal: AbortSignal,
): Promise<Find[]> {
  const named = collections
    .filter(({ name, definition }) => name !== USERS && !isView(definition) && definition.search === undefined)
    .flatMap((entry) => {
      const field = nameField(entry.fields);
      const where = field === null ? undefined : searchFilter([field], typed);
      return where === undefined || entry.records === 0 ? [] : [{ entry, where }];
    })
    .sort((a, b) => b.entry.records - a.entry.records);
  const read = named.filter(({ entry }) => entry.records <= mostInRead).slice(0, mostRead);
  const answers = await Promise.all(
    read.map(async ({ entry, where }) => {
      const query = { filter: where, limit: most };
      const { items } = await client.collection(entry.name).page<StoredRecord>(query, { signal });
      return items.map((record) => recordFind(entry, entry.name, record));
    }),
  );
  const left = named
    .filter((each) => !read.includes(each))
    .slice(0, mostLeft)
    .map(({ entry: { name, records }, where }): Find => {
      const about = words.notRead(records);
      return {
        kind: "records",
        id: `in ${name}`,
        label: words.findIn(typed, name),
        about,
        link: filterLink(name, where),
      };
    });
  return [...answers.flat().slice(0, most), ...left];
}

async function foundUsers(ask: Ask, typed: string): Promise<Find[]> {
  const query = new URLSearchParams({ search: typed, limit: String(most) });
  const { items } = await ask<Page<User>>("GET", `/api/admin/users?${query}`);
  return items.map((user) => ({
    kind: "users",
    id: user.id,
    label: nameOfUser(user),
    about: user.role,
    link: userLink(user.id),
  }));
}

/** The finds of an id. An id of a request, a run, an event or a mail names a trace. */
async function foundById(ask: Ask, id: string): Promise<Find[]> {
  const path = encodeURIComponent(id);
  const byId = (about: string, link: Find["link"], label = id): Find => ({
    kind: "byId",
    id: `${about} ${id}`,
    label,
    about,
    link,
  });
  if (isId(id, "rec")) {
    const { collection } = await ask<{ collection: string }>("GET", `/api/admin/records/${path}`);
    return [byId(collection, recordLink(collection, id))];
  }
  if (isId(id, "usr"))
    return [byId(text.shell.users, userLink(id), nameOfUser(await ask<User>("GET", `/api/admin/users/${path}`)))];
  if (isId(id, "fil"))
    return [
      byId(text.shell.storage, fileLink(id), (await ask<{ name: string }>("GET", `/api/admin/storage/${path}`)).name),
    ];
  const { root } = await ask<Trace>("GET", `/api/admin/trace/${path}`);
  const span = listOf(root, 0).find((each) => each.span.id === id)?.span ?? root;
  const link = spanLink(span);
  const kind = text.trace.kinds[span.kind];
  return [
    ...(link === null ? [] : [byId(kind, link, span.name)]),
    byId(text.trace.title, traceLink(id), words.traceOf(kind, span.name)),
  ];
}

/** Null in place of "not found". */
async function orNothing(finds: Promise<Find[]>): Promise<Find[]> {
  return finds.catch((error: unknown) => {
    if (error instanceof SocleError && error.status === 404) return [];
    throw error;
  });
}

/** A word with a digit that is long enough for an id. */
const idPattern = /^(?=.*\d)[\w-]{8,}$/;

async function search(typed: string, collections: readonly CollectionEntry[], signal: AbortSignal): Promise<Find[]> {
  const { transport } = client.$source;
  const ask: Ask = (method, path) => transport.call(method, path, { signal });
  const searches = [
    foundRecords(typed, collections, signal),
    foundByName(typed, collections, signal),
    foundUsers(ask, typed),
  ];
  if (idPattern.test(typed)) searches.unshift(orNothing(foundById(ask, typed)));
  return (await Promise.all(searches)).flat();
}

/** @param collections undefined until the collections are known. */
export function useFinds(query: string, collections: readonly CollectionEntry[] | undefined) {
  const typed = query.trim();
  const [settled] = useDebouncedValue(typed, pauseMs);
  const isAsked = collections !== undefined && settled === typed && typed.length > 1;
  const {
    data: finds = [],
    isFetching,
    isError,
  } = useQuery({
    queryKey: ["palette", settled],
    queryFn: ({ signal }) => search(settled, collections ?? [], signal),
    enabled: isAsked,
    retry: false,
    staleTime: 5_000,
    gcTime: 10_000,
  });
  const isSearching = typed.length > 1 && (!isAsked || isFetching);
  return { finds: isAsked ? finds : [], isSearching, isFailed: isAsked && isError };
}
