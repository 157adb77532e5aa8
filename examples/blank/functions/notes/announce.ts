/** Runs after a note was saved. */
export const onCreate: OnCreate<"notes"> = async ({ record, logger }) => {
  logger.info(`New note: ${record.title}`);
};
