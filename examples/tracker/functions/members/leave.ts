/** Removes the assignee from the issues of a member who has left: the rule of issues wants an assignee who is a member. */
export const options: FunctionOptions = { retries: 5 };

export const onDelete: OnDelete<"members"> = async ({ record, db }) => {
  const issues = await db.query<{ id: string }>(
    `SELECT issues.id FROM issues JOIN projects ON projects.id = issues.project
     WHERE projects.workspace = ? AND issues.assignee = ?`,
    [record.workspace, record.user],
  );
  for (const { id } of issues) await db.collection("issues").update(id, { assignee: null });
};
