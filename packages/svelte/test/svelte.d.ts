/** Components of the test page; the compiler of Svelte reads the components. */
declare module "*.svelte" {
  const component: import("svelte").Component<{ socle: object; initial?: object }>;
  export default component;
}
