/** The marks of a user: the role, a proven address, and the user of this page. */
import { Badge } from "@mantine/core";
import type { Role } from "@socle/protocol";
import { IconCircleCheck, IconCircleDashed, IconShieldCheck, IconUser, IconWorld } from "../../icons/index.ts";
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

/** Whether a user has proven the address. */
export function VerifiedMark({ isVerified }: { isVerified: boolean }) {
  return isVerified ? (
    <Mark tone="good" icon={IconCircleCheck}>
      {text.users.verified}
    </Mark>
  ) : (
    <Mark tone="quiet" icon={IconCircleDashed}>
      {text.users.notVerified}
    </Mark>
  );
}

/** A mark on the signed-in user, and on the session of the page. */
export function OwnBadge({ label }: { label: string }) {
  return (
    <Badge size="sm" variant="light" tt="none" style={{ flex: "none" }}>
      {label}
    </Badge>
  );
}
