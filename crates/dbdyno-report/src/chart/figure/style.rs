//! How the panels look, in light, in dark and on paper.

/// Written once into the page. Everything is scoped to its classes; a page with a theme of its own
/// sets the custom properties again.
///
/// Colours are Okabe and Ito's, and grey for the base. None of them carries a meaning alone: arms
/// also differ by mark, dash and label.
pub const FIGURE_STYLE: &str = "\
.dbdyno-panels{display:grid;gap:1rem 1.5rem;\
grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr))}\
.dbdyno-figure{--dbdyno-ink:#111827;--dbdyno-paper:#fff;--dbdyno-0:#6b7280;--dbdyno-1:#0072b2;\
--dbdyno-2:#d55e00;--dbdyno-3:#009e73;--dbdyno-4:#cc79a7;\
display:block;width:100%;max-width:27rem;height:auto;color:var(--dbdyno-ink);\
font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;font-variant-numeric:tabular-nums}\
.dbdyno-figure text{fill:currentColor}\
.dbdyno-figure .title{font-weight:600}\
.dbdyno-figure .muted{opacity:.8}\
.dbdyno-figure .halo{paint-order:stroke;stroke:var(--dbdyno-paper);stroke-width:3;\
stroke-linejoin:round}\
.dbdyno-figure .grid{stroke:currentColor;opacity:.16}\
.dbdyno-figure .one{stroke:currentColor;stroke-width:1.25}\
.dbdyno-figure .edge{stroke:currentColor;stroke-dasharray:2 3;opacity:.6}\
.dbdyno-figure .lead{fill:none;stroke:currentColor;opacity:.5}\
.dbdyno-figure .reach{stroke:currentColor;stroke-width:2.5}\
.dbdyno-figure .floor{fill:currentColor;opacity:.08}\
.dbdyno-figure .shade{fill:currentColor}\
.dbdyno-figure .band{fill:var(--dbdyno-1);opacity:.16}\
.dbdyno-figure .bound{stroke:var(--dbdyno-1);opacity:.8}\
.dbdyno-figure .centre{fill:none;stroke:var(--dbdyno-1);stroke-width:2}\
.dbdyno-figure .whisker{fill:none;stroke:currentColor;stroke-width:1.5}\
.dbdyno-figure .under{fill:none;stroke:var(--dbdyno-paper);stroke-width:4}\
.dbdyno-figure .hollow{fill:var(--dbdyno-paper);stroke:currentColor;stroke-width:1.25}\
.dbdyno-figure .full{fill:currentColor;stroke:var(--dbdyno-paper)}\
.dbdyno-figure .a0{--dbdyno-arm:var(--dbdyno-0)}\
.dbdyno-figure .a1{--dbdyno-arm:var(--dbdyno-1)}\
.dbdyno-figure .a2{--dbdyno-arm:var(--dbdyno-2)}\
.dbdyno-figure .a3{--dbdyno-arm:var(--dbdyno-3)}\
.dbdyno-figure .a4{--dbdyno-arm:var(--dbdyno-4)}\
.dbdyno-figure .line{fill:none;stroke:var(--dbdyno-arm);stroke-width:1.75;stroke-linejoin:round}\
.dbdyno-figure .line.a1{stroke-width:2.25}\
.dbdyno-figure .line.a2{stroke-width:1.5;stroke-dasharray:6 3}\
.dbdyno-figure .line.a3{stroke-width:1.5;stroke-dasharray:2 2}\
.dbdyno-figure .line.a4{stroke-width:1.5;stroke-dasharray:7 2 2 2}\
.dbdyno-figure .spread{fill:var(--dbdyno-arm);fill-opacity:.24;stroke:var(--dbdyno-arm);\
stroke-width:.5}\
.dbdyno-figure .bar{fill:var(--dbdyno-arm)}\
.dbdyno-figure .mark{fill:var(--dbdyno-arm);stroke:var(--dbdyno-paper)}\
.dbdyno-figure .mark.a0{fill:var(--dbdyno-paper);stroke:var(--dbdyno-arm);stroke-width:1.5}\
@media screen and (prefers-color-scheme:dark){.dbdyno-figure{--dbdyno-ink:#f3f4f6;\
--dbdyno-paper:#111827;--dbdyno-0:#9ca3af;--dbdyno-1:#56b4e9}}\
@media (forced-colors:active){.dbdyno-figure{--dbdyno-ink:CanvasText;--dbdyno-paper:Canvas}}\
@media print{.dbdyno-figure{break-inside:avoid}}";
