/** Storage: the metadata of files, a driver for the bytes, streamed uploads, quotas, signed links, thumbnails. */
export { Bucket, type BucketObject, isBucket, keysFor, mistakes, partsOf, storeCode } from "./bucket.ts";
export type { ByteRange, DriverOptions, FileBody, S3Keys, StorageDriver } from "./driver.ts";
export { openDriver } from "./drivers.ts";
export {
  eachFile,
  eachFileId,
  type FileFilter,
  fileQueryTable,
  removedFileSchema,
  storageSchema,
} from "./file-table.ts";
export { typeOfName } from "./mime.ts";
export { fileAccess, fileStored, missingFile, Storage } from "./storage.ts";
export { type Asker, nameOfSize, parseThumbSize, type ThumbSize } from "./thumbnails.ts";
export { cleanName, type Upload } from "./upload.ts";
