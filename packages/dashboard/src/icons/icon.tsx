/** The form that all icons of the dashboard share: a drawing of Tabler Icons as a component. */
import type { SVGProps } from "react";

interface IconProps extends Omit<SVGProps<SVGSVGElement>, "stroke"> {
  /** Width and height, in pixels. */
  readonly size?: number;
  /** The width of the strokes of an outlined icon: the icon is 24 wide. */
  readonly stroke?: number;
}

/** @param d the data of all paths of the icon. */
export function outlined(d: string) {
  return ({ size = 24, stroke = 2, color = "currentColor", ...rest }: IconProps) => (
    // biome-ignore lint/a11y/noSvgWithoutTitle: the place of an icon gives the icon a label, or hides the icon.
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke={color}
      strokeWidth={stroke}
      strokeLinecap="round"
      strokeLinejoin="round"
      {...rest}
    >
      <path d={d} />
    </svg>
  );
}

/** @param d the data of all paths of the icon. */
export function filled(d: string) {
  return ({ size = 24, color = "currentColor", stroke: _, ...rest }: IconProps) => (
    // biome-ignore lint/a11y/noSvgWithoutTitle: the place of an icon gives the icon a label, or hides the icon.
    <svg width={size} height={size} viewBox="0 0 24 24" fill={color} {...rest}>
      <path d={d} />
    </svg>
  );
}
