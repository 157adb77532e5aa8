/** Texts of files as values: the same cell means the same value for the service, its commands and the dashboard. */
export { type CellProblem, type CellStyle, type CellValue, readCell, readItems, readNumber } from "./cell.ts";
export { type CsvCell, type CsvRow, CsvRows, type CsvShape, csvLine, guessCsvShape } from "./csv-rows.ts";
export { type Datetime, parseDatetime, readDatetime } from "./datetime.ts";
export { type Encoding, encodingOf } from "./encoding.ts";
export { InexactNumber, parseJsonText } from "./json-text.ts";
