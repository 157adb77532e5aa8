/** Stored files: the metadata, links, and the records that use a file. */
import { VISIBILITIES } from "../storage.ts";
import { about, count, enumOf, named, object, orNull, string, type TypeOf, time } from "./shape.ts";

/** The metadata of a stored file. */
export const storedFile = named("StoredFile", () =>
  object({
    /** `fil_` and a UUIDv7. */
    id: string,
    /** The name that the uploader gave, without a path. */
    filename: string,
    /** The type by the bytes if possible, otherwise by the name. */
    mimeType: string,
    size: about(count, "Bytes."),
    visibility: enumOf(VISIBILITIES),
    /** The uploader; null for the service. */
    userId: orNull(string),
    createdAt: time,
    /** The path of the content on the service: `/api/storage/fil_…`. */
    url: string,
  }),
);
export type StoredFile = TypeOf<typeof storedFile>;

/** An address that gives a file to every holder of the address, without a token, until the address expires. */
export const fileLink = named("FileLink", () =>
  object({
    /** From the root of the service: `/api/storage/fil_…?expires=…&signature=…`. */
    url: about(string, "From the root of the service."),
    /** ISO 8601 UTC. */
    expiresAt: time,
  }),
);
export type FileLink = TypeOf<typeof fileLink>;

/** A record that holds the id of a file (`GET /api/admin/storage/{id}/records`). */
export const fileUse = named("FileUse", () =>
  object({
    collection: string,
    field: string,
    /** The record's id. */
    id: string,
  }),
);
export type FileUse = TypeOf<typeof fileUse>;
