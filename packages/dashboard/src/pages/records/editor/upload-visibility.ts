/** The visibility of an upload in the form of a collection: a file is public when everybody may read the records. */
import type { CollectionEntry, Visibility } from "@socle/protocol";
import { createContext, useContext } from "react";
import { text } from "../../../texts/index.ts";

export interface UploadVisibility {
  readonly visibility: Visibility;
  /** The reason, in a sentence. */
  readonly reason: string;
}

export function uploadVisibilityOf({
  name,
  permissions,
}: Pick<CollectionEntry, "name" | "permissions">): UploadVisibility {
  // Without a rule, everybody may read.
  return (permissions?.read ?? "public") === "public"
    ? { visibility: "public", reason: text.editor.uploadPublic(name) }
    : { visibility: "protected", reason: text.editor.uploadProtected(name) };
}

const Context = createContext<UploadVisibility>({ visibility: "protected", reason: "" });

export const UploadVisibilityProvider = Context.Provider;

export function useUploadVisibility(): UploadVisibility {
  return useContext(Context);
}
