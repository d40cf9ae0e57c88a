/** Display settings of one viewer; not saved. */

export interface Settings {
  /** The lines filled with the color of their source line, not only the selected ones. */
  rainbow: boolean;
  wrap: boolean;
  metadata: boolean;
  layouts: boolean;
}

export const FIRST: Readonly<Settings> = {
  rainbow: false,
  wrap: false,
  metadata: false,
  layouts: true,
};

/** The hidden parts of the texts. */
export function hidden(settings: Settings): ReadonlySet<"metadata" | "layouts"> {
  const found = new Set<"metadata" | "layouts">();
  if (!settings.metadata) found.add("metadata");
  if (!settings.layouts) found.add("layouts");
  return found;
}
