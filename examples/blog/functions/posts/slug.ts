/** Makes a slug from the title of a post without a slug; while the slug is taken, a number is appended. */
import slugify from "slugify";

export const onCreate: OnCreate<"posts"> = async ({ record, db, logger }) => {
  if (record.slug !== null) return;
  const base = slugify(record.title, { lower: true, strict: true }) || "post";
  for (let n = 1; n <= 100; n++) {
    const slug = n === 1 ? base : `${base}-${n}`;
    try {
      await db.posts.update(record.id, { slug });
      logger.info("Made a slug", { slug });
      return;
    } catch (error) {
      // The post was deleted in the meantime: no work is left.
      if (codeOf(error) === "not_found") return;
      if (codeOf(error) !== "validation_error") throw error;
    }
  }
  throw new Error(`A hundred posts have the slug ${base} already`);
};

function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? (error as ServiceError).code : undefined;
}
