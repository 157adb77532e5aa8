/** Keeps the number of comments of each post in the post. */
import { countComments } from "./_count.ts";

/** A second count does no harm, so a retry does no harm either. */
export const options: FunctionOptions = { retries: 3 };

export const onCreate: OnCreate<"comments"> = ({ record, db }) => countComments(db, record.post);

export const onUpdate: OnUpdate<"comments"> = async ({ record, previous, db }) => {
  if (record.post === previous.post) return;
  await countComments(db, previous.post);
  await countComments(db, record.post);
};

export const onDelete: OnDelete<"comments"> = ({ record, db }) => countComments(db, record.post);
