/** The formats of imports and exports, and the media types of the formats. */

export type TransferFormat = "ndjson" | "csv";

/** The media type of an answer. */
export const transferTypes: { readonly [format in TransferFormat]: string } = {
  ndjson: "application/x-ndjson",
  csv: "text/csv; charset=utf-8",
};

const known: { readonly [type: string]: TransferFormat } = {
  "application/x-ndjson": "ndjson",
  "application/ndjson": "ndjson",
  "application/jsonl": "ndjson",
  "text/csv": "csv",
};

const endings: { readonly [ending: string]: TransferFormat } = {
  ".csv": "csv",
  ".ndjson": "ndjson",
  ".jsonl": "ndjson",
};

/** The format of a file by the ending of the name, with the dot; null for another ending. */
export function formatOfEnding(ending: string): TransferFormat | null {
  return endings[ending.toLowerCase()] ?? null;
}

/** The format of a media type, whatever the parameters; null for another type. */
export function formatOf(mediaType: string): TransferFormat | null {
  const [type = ""] = mediaType.split(";");
  return known[type.trim().toLowerCase()] ?? null;
}
