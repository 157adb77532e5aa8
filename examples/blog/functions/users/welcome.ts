/** Sends a message to every new user. A second run for the same registration finds the message and sends no other. */
export const onCreate: OnCreate<"users"> = async ({ record, event, db, logger }) => {
  const [sent] = await db.query("SELECT id FROM messages WHERE event = ?", [event.id]);
  if (sent !== undefined) return;
  const text = "Welcome! Make yourself a profile, then write your first post.";
  await db.messages.create({ to: record.id, text, event: event.id });
  logger.info("Welcomed somebody", { user: record.id });
};
