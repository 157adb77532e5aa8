/**
 * The test kit that is inside the executable. In the source tree there is none: `scripts/compile.ts` puts a module with the
 * same export in this one's place.
 */
export const testKitFile: string | null = null;
