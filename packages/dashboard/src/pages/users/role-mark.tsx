/** The role of a user, with an icon. */
import type { Role } from "@socle/protocol";
import { IconShieldCheck, IconUser, IconWorld } from "@tabler/icons-react";
import { Mark, type Tone } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

const marks: { readonly [role in Role]: { tone: Tone; icon: typeof IconUser } } = {
  admin: { tone: "good", icon: IconShieldCheck },
  authenticated: { tone: "quiet", icon: IconUser },
  public: { tone: "quiet", icon: IconWorld },
};

export function RoleMark({ role }: { role: Role }) {
  return <Mark {...marks[role]}>{text.users.roles[role]}</Mark>;
}
