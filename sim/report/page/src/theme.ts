/** Colours come from style.css, so that charts follow the light or dark theme. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export const kColours = 12; // --c0 to --c11 in style.css
const kDashes = [[], [8, 4], [2, 3], [12, 4, 2, 4]];

export const lineColour = (i: number): string => colour(`c${i % kColours}`);
/** A second way to tell lines apart. */
export const lineDash = (i: number): number[] => kDashes[i % kDashes.length];

export function onThemeChange(redraw: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}
