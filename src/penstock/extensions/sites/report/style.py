"""How the page looks: on a phone, on a screen in the dark, on paper. One sheet inside the page, named by its hash."""

import base64
import hashlib

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--paper:#fff;--line:#d0d7de;--wash:#f3f5f7;--bar:#0b5cad;
--span:#1b1f24;--link:#0b5cad}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a9b1ba;--paper:#15181c;--line:#3a414a;--wash:#1f242a;
--bar:#6cb2ff;--span:#fff;--link:#8ec5ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;
overflow-wrap:anywhere}
main{max-width:62rem;margin:0 auto;padding:1.5rem 1rem 4rem}
header{border-bottom:3px solid var(--bar);margin-bottom:1.5rem}
h1{font-size:1.9rem;line-height:1.2;margin:.5rem 0}
h2{font-size:1.3rem;margin:2.5rem 0 .75rem;padding-top:.5rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:1.5rem 0 .25rem}
p{margin:.4rem 0}
a{color:var(--link)}
.soft,figcaption,caption{color:var(--soft)}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1rem;list-style:none;padding:0;font-size:.9rem}
dl{display:grid;grid-template-columns:8rem 1fr;gap:.3rem 1rem;margin:0}
dt{color:var(--soft)}
dd{margin:0}
.meter{margin:.75rem 0}
.meter p{margin:0}
.bar{display:block;width:100%;height:.9rem;margin:.2rem 0}
.track{fill:var(--wash);stroke:var(--line);stroke-width:.3}
.value{fill:var(--bar)}
.span{fill:var(--span)}
figure{margin:.5rem 0;padding:.5rem .9rem;border-left:4px solid var(--line);background:var(--wash)}
blockquote{margin:0}
figcaption{font-size:.875rem}
table{width:100%;border-collapse:collapse;margin:1rem 0;font-size:.925rem}
caption{text-align:left;padding-bottom:.3rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .5rem;border-bottom:1px solid var(--line)}
thead th{border-bottom:2px solid var(--line)}
tbody th{font-weight:600;min-width:12rem}
@media screen and (max-width:640px){
main{padding:1rem .75rem 3rem}
h1{font-size:1.5rem}
dl{grid-template-columns:1fr;gap:0}
dd{margin-bottom:.5rem}
table,caption,tbody,tr,td,tbody th{display:block;width:100%}
thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
tr{border:1px solid var(--line);border-radius:.4rem;margin-bottom:.75rem}
td[data-label]::before{content:attr(data-label) ": ";color:var(--soft)}
}
@page{size:A4;margin:16mm 14mm}
@media print{
:root{--ink:#000;--soft:#444;--paper:#fff;--line:#bbb;--wash:#f3f3f3;--bar:#0b5cad;--span:#000;--link:#000}
body{font-size:10pt;-webkit-print-color-adjust:exact;print-color-adjust:exact}
main{max-width:none;padding:0}
nav{display:none}
h2,h3{break-after:avoid}
tr,figure,.meter,dl{break-inside:avoid}
thead{display:table-header-group}
#matrix,#evidence,#each{break-before:page}
a{text-decoration:none}
}
"""
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
# In the page itself, and for whoever serves it: an outer policy that forbade the sheet would leave the page bare.
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"
