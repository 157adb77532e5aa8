/** The issues of a project go with it. */
export const options: FunctionOptions = { retries: 5 };

export const onDelete: OnDelete<"projects"> = async ({ record, db }) => {
  const issues = await db.query<{ id: string }>("SELECT id FROM issues WHERE project = ?", [record.id]);
  for (const { id } of issues) await db.collection("issues").delete(id);
};
