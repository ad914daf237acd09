import type { Num } from "./data";

const kThin = "\u202f";

function grouped(text: string): string {
  const [whole, rest] = text.split(".");
  const parts = whole.replace(/\B(?=(\d{3})+(?!\d))/g, kThin);
  return rest === undefined ? parts : `${parts}.${rest}`;
}

/** A share without decimals, for narrow places. */
export const wholePercent = (share: number): string => `${Math.round(100 * share)} %`;

/** As many digits as one reads: 1 234, 123.4, 1.23, 0.0123. */
export function number(value: Num | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value)) return grouped(String(value));
  if (size >= 1000) return grouped(value.toFixed(0));
  if (size >= 100) return value.toFixed(1);
  if (size >= 0.1) return value.toFixed(2);
  return String(Number(value.toPrecision(3)));
}

/** Milliseconds in the unit one thinks in. */
export function duration(ms: Num | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return "–";
  const trimmed = (value: number) => grouped(String(Number(value.toPrecision(3))));
  if (ms >= 172_800_000) return `${trimmed(ms / 86_400_000)} d`;
  if (ms >= 7_200_000) return `${trimmed(ms / 3_600_000)} h`;
  if (ms >= 120_000) return `${trimmed(ms / 60_000)} min`;
  if (ms >= 1000) return `${trimmed(ms / 1000)} s`;
  if (ms >= 1 || ms === 0) return `${trimmed(ms)} ms`;
  return `${trimmed(ms * 1000)} µs`;
}

export function percent(share: Num | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return "–";
  const value = 100 * share;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  if (value < 100 && value > 99.9) return "> 99.9 %";
  return `${value.toFixed(value < 10 && value > 0 ? 1 : value % 1 === 0 ? 0 : 1)} %`;
}

/** What became of 1: +12 %, −3.4 %; from ten times up or down the factor, ×12 or ÷12. */
export function change(ratio: number): string {
  const factor = (by: number) => grouped(String(Number(by.toPrecision(3))));
  if (ratio >= 10) return `×${factor(ratio)}`;
  if (ratio > 0 && ratio <= 0.1) return `÷${factor(1 / ratio)}`;
  const value = 100 * (ratio - 1), size = Math.abs(value);
  if (size < 0.05) return "±0 %";
  return `${value < 0 ? "−" : "+"}${size.toFixed(size < 10 ? 1 : 0)} %`;
}
