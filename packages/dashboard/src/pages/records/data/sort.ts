/** The sort in the address, "-createdAt,title", as steps. */

export interface SortStep {
  readonly path: string;
  readonly isDescending: boolean;
}

/** The API accepts at most this many steps. */
const mostSteps = 5;

export function parseSort(sort: string | undefined): SortStep[] {
  return (sort ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "" && part !== "-")
    .map((part) => ({ path: part.replace(/^-/, ""), isDescending: part.startsWith("-") }));
}

export function writeSort(steps: readonly SortStep[]): string | undefined {
  const sort = steps.map(({ path, isDescending }) => `${isDescending ? "-" : ""}${path}`).join(",");
  return sort === "" ? undefined : sort;
}

/** Ascending, descending, unsorted; with `isAdded` the other steps stay. */
export function toggleSort(steps: readonly SortStep[], path: string, isAdded: boolean): SortStep[] {
  const present = steps.find((step) => step.path === path);
  const next =
    present === undefined ? { path, isDescending: false } : present.isDescending ? null : { path, isDescending: true };
  if (!isAdded) return next === null ? [] : [next];
  if (present === undefined) return next === null ? [...steps] : [...steps, next].slice(0, mostSteps);
  return steps.flatMap((step) => (step.path !== path ? [step] : next === null ? [] : [next]));
}
