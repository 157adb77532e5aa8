/** The start of the leader of a cluster: a journal that refuses a commit of the start is told without another text, so that the instance tries again. */
import { expect, test } from "bun:test";
import { openApi } from "../../test/kit.ts";
import { AppError } from "../base/kernel/index.ts";
import type { CommitPoint, Database } from "../store/database/index.ts";

const collections = [{ name: "zebras", fields: [{ name: "n", type: "integer" }] }];

/** Joins a journal that has no outcome for the commit of the definitions. */
async function joinCluster(database: Database): Promise<void> {
  const commitPoint: CommitPoint = {
    refusal: null,
    role: "a role",
    append: async (_position, { entry }) => {
      if (String(entry).includes("zebras")) throw new AppError("unavailable", "The outcome is not known.");
    },
  };
  await database.placeInJournal();
  await database.joinJournal("a journal", null);
  database.journalBy({ followers: null, commitPoint });
}

test("a start whose commit has no outcome can be tried again", async () => {
  await expect(openApi({ collections, joinCluster })).rejects.toMatchObject({
    code: "unavailable",
    message: "The outcome is not known.",
  });
});
