"""Parts of HTML pages: escaped elements, charts as SVG, styles; pages load nothing and run offline.

Input:   plain values: texts, numbers, times.
Output:  HTML for a file or a notebook.
Imports: nothing.
"""
