"""Addresses of the account pages."""

from django.urls import path

from workflowplatform.accounts import views

app_name = "accounts"
urlpatterns = [
    path("login/", views.SignIn.as_view(), name="login"),
    path("logout/", views.SignOut.as_view(), name="logout"),
    path("password/", views.ChangePassword.as_view(), name="password_change"),
    path("reset/", views.AskReset.as_view(), name="password_reset"),
    path("reset/sent/", views.ResetAsked.as_view(), name="password_reset_done"),
    path("reset/<uidb64>/<token>/", views.SetPassword.as_view(), name="password_reset_confirm"),
    path("invitation/<uidb64>/<token>/", views.AcceptInvitation.as_view(), name="invitation"),
    path("keys/", views.keys, name="keys"),
    path("settings/", views.Settings.as_view(), name="settings"),
]
