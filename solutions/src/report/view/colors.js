// The colours of height, intensity and species, on light and dark pages.
"use strict";
const colors = (kinds, isDark) => {
  const rgb = (hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
  const css = (c) => `rgb(${c.map((v) => Math.round(255 * v)).join(" ")})`;

  // Viridis (van der Walt and Smith 2015), nine stops; cut where it would fade into the page.
  const viridis = ["440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725"].map(rgb);
  const theme = () => (isDark()
    ? { paper: rgb("0d1210"), line: rgb("34403a"), cut: [0.3, 1] }
    : { paper: rgb("f3f5f2"), line: rgb("c3ccc6"), cut: [0, 0.86] });
  const ramp = (t) => {
    const at = Math.min(Math.max(t, 0), 1) * 8;
    const i = Math.min(Math.floor(at), 7);
    return viridis[i].map((v, a) => v + (viridis[i + 1][a] - v) * (at - i));
  };

  // Okabe and Ito's eight, then hues a golden angle apart.
  const light = ["0067a5", "c84e00", "007a5a", "a8437f", "8a6d00", "3b8dbd", "5c5c5c", "7a3e9d"].map(rgb);
  const dark = ["56b4e9", "f08a3c", "3fcf9f", "e39ac6", "e6c84f", "9ad0f0", "c8c8c8", "c79be8"].map(rgb);
  const hsl = (hue, saturation, lightness) => [0, 8, 4].map((n) => {
    const k = (n + hue / 30) % 12;
    return lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  });
  const kindColor = (species) => {
    const i = kinds.indexOf(species);
    if (i < 0) return [0.55, 0.58, 0.56];
    const known = isDark() ? dark : light;
    return known[i] || hsl((i * 137.508) % 360, 0.6, isDark() ? 0.68 : 0.42);
  };
  return { viridis, css, ramp, theme, kindColor };
};
