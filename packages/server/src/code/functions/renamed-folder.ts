/** Functions of a renamed collection: the deliveries follow the folder, which has the name of the collection. */
import type { Transactor } from "../../store/database/index.ts";
import { moveRuns } from "../runs/index.ts";

/**
 * Gives the deliveries of `functions/{from}/` to the files of the same names in `functions/{to}/`, in the transaction that
 * renames the collection. The deliveries wait until the files are loaded.
 */
export function followCollection(tx: Transactor, { from, to }: { from: string; to: string }): void {
  moveRuns(tx, "_deliveries", { from: `functions/${from}/`, to: `functions/${to}/` });
}
