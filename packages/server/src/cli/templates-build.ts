/**
 * The templates inside the executable; null in the source tree. `scripts/compile.ts` replaces this module by a module with the same
 * export.
 */
export const templatesFile: string | null = null;
