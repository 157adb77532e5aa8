/** Removes the assignee from the issues of a member who has left: the rule of issues wants an assignee who is a member. */
export const options: FunctionOptions = { retries: 5 };

export const onDelete: OnDelete<"members"> = async ({ record, db }) => {
  const issues = db.issues.where({ project: { workspace: record.workspace }, assignee: record.user });
  for await (const { id } of issues.select().all()) await db.issues.update(id, { assignee: null });
};
