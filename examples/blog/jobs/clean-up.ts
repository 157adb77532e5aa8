/** Every night: deletes comments of deleted posts, and drafts without a change for a year. */
export const schedule = "30 3 * * *";

export const options: JobOptions = { timezone: "Europe/Zurich", timeout: "5m" };

const yearMs = 365 * 24 * 3_600_000;

const job: Job = async ({ db, logger, signal }) => {
  const orphans = await db.query<{ id: string }>(
    "SELECT id FROM comments WHERE post NOT IN (SELECT id FROM posts) LIMIT 10000",
  );
  const old = db.posts.where({ publishedAt: null, updatedAt: { lt: new Date(Date.now() - yearMs) } });
  const drafts = await Array.fromAsync(old.select().all());
  for (const { id } of orphans) {
    signal.throwIfAborted();
    await db.comments.delete(id);
  }
  for (const { id } of drafts) {
    signal.throwIfAborted();
    await db.posts.delete(id);
  }
  logger.info("Cleaned up", { comments: orphans.length, drafts: drafts.length });
};

export default job;
