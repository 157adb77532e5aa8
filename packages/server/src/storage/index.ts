/** Storage: the metadata of files, their bytes with a driver, uploads as streams, thumbnails. */
export type { ByteRange, FileBody, StorageDriver } from "./driver.ts";
export { type FileFilter, fileQueryTable } from "./file-table.ts";
export { cleanName } from "./filename.ts";
export { typeOfName } from "./mime.ts";
export { type DriverOptions, openDriver } from "./open-driver.ts";
export { storageSchema } from "./schema.ts";
export { missingFile, Storage } from "./storage.ts";
export { nameOfSize, parseThumbSize } from "./thumbnails.ts";
export type { Upload } from "./upload.ts";
