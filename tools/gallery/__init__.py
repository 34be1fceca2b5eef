"""The gallery (docs/gallery.md): what families of models find in one paragraph, and the papers' figures beside ours.

``plan.toml`` has the paragraph and the pipelines, ``papers.toml`` published figures; ``links`` links the paragraph,
``page`` and ``papers`` write the two halves of the page. ``python tools/generate_gallery.py`` runs them.
"""
