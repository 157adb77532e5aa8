/** Every day at 6:00, UTC. */
export const schedule = "0 6 * * *";

const job: Job = async ({ db, logger }) => {
  logger.info(`Good morning; there are ${await db.notes.count()} notes`);
};

export default job;
