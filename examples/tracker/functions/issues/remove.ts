/** The comments of an issue go with it. */
export const options: FunctionOptions = { retries: 5 };

export const onDelete: OnDelete<"issues"> = async ({ record, db }) => {
  const comments = await db.query<{ id: string }>("SELECT id FROM comments WHERE issue = ?", [record.id]);
  for (const { id } of comments) await db.collection("comments").delete(id);
};
